export function RequestsPage(_: { id: string | null }) { return null; }
