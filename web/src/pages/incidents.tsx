export function IncidentsPage(_: { id: string | null }) { return null; }
