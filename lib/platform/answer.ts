import type { Dispatcher } from 'undici';
import { maximumErrorBytes, PlatformError } from './error.ts';
import { isFileAnswer, type Operation } from './operation.ts';

/** What an answer says; `cutOff`: the connection ended before the text did. */
export type AnswerText = { text: string; cutOff: boolean };

type About = { operation: Operation<unknown>; call: string };

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/**
 * Reads an answer's text: the whole of one that is parsed, no more than the start of an error or of what nobody reads.
 * @throws PlatformError where a success is a web page, and whatever a success that is parsed is cut off with.
 */
export const readAnswer = async (
  { statusCode, headers, body }: Dispatcher.ResponseData,
  { operation, call }: About,
): Promise<AnswerText> => {
  if (!isSuccess(statusCode)) return startOf(body);
  // Of a success that is not parsed, half is as good as the whole: the status has told already.
  const read = operation.answer ? { text: await body.text(), cutOff: false } : await startOf(body);
  if (!isPage(headers['content-type'], read)) return read;
  throw new PlatformError({
    operation,
    call,
    sent: true,
    message: `answered ${statusCode} with an HTML page`,
  });
};

/** A success says nothing in HTML: what does is a proxy, a login or a notice. An empty text may be labelled as anything. */
const isPage = (contentType: string | string[] | undefined, { text, cutOff }: AnswerText): boolean =>
  (/html/i.test(String(contentType)) && (text.trim() !== '' || cutOff)) ||
  /^\s*<(!doctype|html|head|body)\b/i.test(text);

/** As much of a body as can be had, up to the limit: a cut one still names its error. */
const startOf = async (body: Dispatcher.ResponseData['body']): Promise<AnswerText> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let cutOff = false;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= maximumErrorBytes) break;
    }
  } catch {
    cutOff = true;
  }
  return { text: Buffer.concat(pieces).subarray(0, maximumErrorBytes).toString('utf8'), cutOff };
};

/**
 * What a success carries.
 * @throws PlatformError where it does not read as one: a proxy's page, half a body, another version's shape.
 */
export const parseAnswer = <Answer>(
  about: { operation: Operation<Answer>; call: string },
  { text }: AnswerText,
): Answer => {
  const { answer } = about.operation;
  if (answer === undefined) return undefined as Answer;
  if (isFileAnswer(answer))
    throw new TypeError(`${about.operation.name}: its answer is a file, to be downloaded`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Without its cause, which quotes the answer.
    throw new PlatformError({ ...about, sent: true, message: 'the answer is not readable as JSON' });
  }
  const parsed = answer.safeParse(json);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole').join(', ');
  throw new PlatformError({
    ...about,
    sent: true,
    message: `the answer lacks what it must carry: ${fields}`,
  });
};
