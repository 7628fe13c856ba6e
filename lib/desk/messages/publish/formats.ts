import { extname } from 'node:path';

export const formats = ['json', 'jsonl', 'csv'] as const;
export type Format = (typeof formats)[number];

const endings: Record<string, Format> = {
  '.json': 'json',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.csv': 'csv',
};

/** By the name's ending. */
export const formatOf = (name: string): Format | undefined => endings[extname(name).toLowerCase()];
