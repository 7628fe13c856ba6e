import { randomBytes } from 'node:crypto';
import type { Payload } from './exchange.ts';

export type Part = {
  headers: Record<string, string>;
  /** Text, or bytes of a size known before the first of them is read. */
  body: string | SizedStream;
};

type SizedStream = { bytes: number; stream(): AsyncIterable<Uint8Array> };

/** Parts as one body that streams, with its length: some deployments of the platform refuse chunked uploads. It can be read once. */
export const multipart = (subtype: 'mixed' | 'form-data', parts: Part[]) => {
  const boundary = `sis-relay-${randomBytes(24).toString('hex')}`;
  const opened = parts.map(({ headers, body }) => ({
    head: Buffer.from(`--${boundary}\r\n${headerLines(headers)}\r\n`),
    body: typeof body === 'string' ? Buffer.from(body) : body,
  }));
  const end = Buffer.from(`--${boundary}--\r\n`);
  const sizes = opened.map(({ head, body }) => head.length + sizeOf(body) + lineEnd.length);
  let isComplete = false;

  const body = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for (const part of opened) {
      yield part.head;
      if (Buffer.isBuffer(part.body)) yield part.body;
      else yield* exactly(part.body);
      yield lineEnd;
    }
    // Before its end the platform cannot have accepted it. The consumer may send the boundary before it asks for more.
    isComplete = true;
    yield end;
  };

  return {
    contentType: `multipart/${subtype}; boundary=${boundary}`,
    contentLength: sizes.reduce((sum, size) => sum + size, end.length),
    body: body(),
    complete: () => isComplete,
  } satisfies Payload;
};

/** A part of JSON: the platform wants its content type as its only header. */
export const jsonPart = (value: unknown): Part => ({
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
});

export type UploadedFile = { fileName: string; contentType: string; file: SizedStream };

/** `name` is the form field; the platform's submissions want it empty. */
export const filePart = ({ name, fileName, contentType, file }: UploadedFile & { name: string }): Part => ({
  headers: { 'Content-Disposition': contentDisposition(name, fileName), 'Content-Type': contentType },
  body: file,
});

/** The header of a part of a form. Names are encoded, so that none can break out of its quotes or of the header. */
export const contentDisposition = (name: string, fileName?: string): string =>
  `form-data; name="${quotable(name)}"${fileName === undefined ? '' : `; filename="${quotable(fileName)}"`}`;

/** A part's content type: `type/subtype`, with or without parameters. */
export const mediaType =
  /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?:[ \t]*;[ \t]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ !#-[\]-~]*"))*$/;

// Browsers write names in forms as raw UTF-8 and percent-encode what would end the quotes or the line, so servers expect
// that. Backslashes and the other control characters go the same way, as some servers read them as escapes or line ends.
const quotable = (text: string): string =>
  text.toWellFormed().replace(/["\\\p{Cc}\u2028\u2029]/gu, (character) => encodeURIComponent(character));

const headerLines = (headers: Record<string, string>): string =>
  Object.entries(headers)
    .map(([name, value]) => {
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[\p{Cc}\u2028\u2029]/u.test(value))
        throw new Error(
          `The header ${JSON.stringify(name)} of a part holds characters that no header may hold`,
        );
      return `${name}: ${value}\r\n`;
    })
    .join('');

const lineEnd = Buffer.from('\r\n');

const sizeOf = (body: Buffer | SizedStream): number => (Buffer.isBuffer(body) ? body.length : body.bytes);

/** Throws before one byte too many is sent, and at an early end: the Content-Length was already sent. */
async function* exactly({ bytes, stream }: SizedStream): AsyncGenerator<Uint8Array, void, undefined> {
  let missing = bytes;
  for await (const piece of stream()) {
    missing -= piece.byteLength;
    if (missing < 0) throw new Error(`A part's stream holds more than the ${bytes} bytes announced`);
    yield piece;
  }
  if (missing > 0) throw new Error(`A part's stream ended ${missing} of ${bytes} bytes too early`);
}
