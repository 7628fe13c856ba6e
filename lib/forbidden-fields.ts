/** A body that may be kept, and the names of the fields whose values were taken from it. */
export type Masked = { body: string; fields: string[] };

const mask = '…';

/**
 * Takes the values of these fields out of a message's body, at any depth and in whatever case they are written,
 * `plain_secret` like `plainSecret`; a body without them stays as it is, to the byte.
 */
export const withoutFields = (body: string, names: readonly string[] = []): Masked => {
  const isForbidden = (name: string): boolean => names.some((each) => plain(each) === plain(name));
  const fields = new Set<string>();
  if (names.length === 0) return { body, fields: [] };
  let masked: string;
  try {
    masked = JSON.stringify(
      JSON.parse(body, (name, value: unknown) => {
        if (isForbidden(name)) {
          fields.add(name);
          return mask;
        }
        if (typeof value !== 'string' || !wrappers.test(name) || !isJson(value)) return value;
        const inner = withoutFields(value, names);
        for (const each of inner.fields) fields.add(each);
        return inner.body;
      }),
    );
  } catch {
    // What is not JSON, or only almost, may hold them all the same.
    const field = new RegExp(
      `(["']?)(${names.map(inAnyCase).join('|')})\\1(\\s*[:=]\\s*)("(?:[^"\\\\]|\\\\.)*"?|[^\\s,}]+)`,
      'gi',
    );
    masked = body.replace(field, (_, quote: string, name: string, between: string) => {
      fields.add(name);
      return `${quote}${name}${quote}${between}"${mask}"`;
    });
  }
  return fields.size === 0 ? { body, fields: [] } : { body: masked, fields: [...fields] };
};

const plain = (name: string): string => name.replace(/[_-]/g, '').toLowerCase();

const inAnyCase = (name: string): string => [...name].join('[_-]?');

/**
 * What is written as JSON once too often: the body, its data, or what a topic wraps. No such message is valid, whereas a
 * text further down may be JSON that must go back as it came.
 */
const wrappers = /^(|data|message)$/i;

const isJson = (text: string): boolean => {
  if (!/^\s*["[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
