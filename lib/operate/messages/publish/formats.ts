export const formats = ['json', 'jsonl', 'csv'] as const;
export type Format = (typeof formats)[number];
