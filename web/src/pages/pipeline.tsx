export function PipelinePage(_: { id: string | null }) { return null; }
