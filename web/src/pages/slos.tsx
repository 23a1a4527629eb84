export function SlosPage(_: { id: string | null }) { return null; }
