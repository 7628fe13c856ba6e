/** A body that may be kept, and the names of the fields whose values were taken from it. */
export type Masked = { body: string; fields: string[] };

const mask = '…';

/**
 * Takes the values of these fields out of a message's body, at any depth and in whatever case they are written; a body
 * without them stays as it is, to the byte.
 */
export const withoutFields = (body: string, names: readonly string[] = []): Masked => {
  const isForbidden = (name: string): boolean =>
    names.some((each) => each.toLowerCase() === name.toLowerCase());
  const fields = new Set<string>();
  if (names.length === 0) return { body, fields: [] };
  let masked: string;
  try {
    masked = JSON.stringify(
      JSON.parse(body, (name, value: unknown) => {
        if (!isForbidden(name)) return value;
        fields.add(name);
        return mask;
      }),
    );
  } catch {
    // What is not JSON, or only almost, may hold them all the same.
    const field = new RegExp(
      `(["']?)(${names.join('|')})\\1(\\s*[:=]\\s*)("(?:[^"\\\\]|\\\\.)*"?|[^\\s,}]+)`,
      'gi',
    );
    masked = body.replace(field, (_, quote: string, name: string, between: string) => {
      fields.add(name);
      return `${quote}${name}${quote}${between}"${mask}"`;
    });
  }
  return fields.size === 0 ? { body, fields: [] } : { body: masked, fields: [...fields] };
};
