export function AlertsPage(_: { id: string | null }) { return null; }
