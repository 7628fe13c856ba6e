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
        if (typeof value !== 'string') return value;
        const encoding = /^data_base64$/i.test(name) ? 'base64' : 'utf8';
        const wrapped = Buffer.from(value, encoding).toString();
        if (encoding === 'utf8' && !(wrappers.test(name) && /^\s*["[{]/.test(wrapped))) return value;
        const inner = withoutFields(wrapped, names);
        for (const each of inner.fields) fields.add(each);
        return inner.fields.length === 0 ? value : Buffer.from(inner.body).toString(encoding);
      }),
    );
  } catch {
    // What is not JSON, or only almost, may hold them all the same.
    const field = new RegExp(
      `(\\\\{0,8}["']?)(${names.map(inAnyCase).join('|')})\\1(\\s*[:=]\\s*)(${values})`,
      'gis',
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

/** Quoted with escapes, as within another text, in double and in single quotes, each maybe cut off; or a word. */
const values = [
  '\\\\{1,8}(["\']).*?(?:\\\\{1,8}\\5|$)',
  '"(?:[^"\\\\]|\\\\.)*"?',
  "'(?:[^'\\\\]|\\\\.)*'?",
  '[^\\s,}]+',
].join('|');

/**
 * What is written as JSON once too often: the body, its data, or what a topic or an event of Lambda wraps. No such message
 * is valid, whereas a text further down may be JSON that must go back as it came.
 */
const wrappers = /^(|data|message|body)$/i;
