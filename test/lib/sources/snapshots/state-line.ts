/** A line of a state: its kind, the key, and the value as JSON. */
export const stateLine = (kind: string, key: string, value: unknown): string =>
  `${kind}\t${key}\t${JSON.stringify(value)}`;
