export function TokensPage(_: { id: string | null }) { return null; }
