import { Client } from 'undici';
import { MessageFailure } from '../../message/failure.ts';
import { ownText, type SafeText, safe, safeMatch } from '../../message/safe-text.ts';
import { type AddressRules, checkAddress, checkedLookup } from '../../runtime/files/https.ts';
import { errorCode } from '../../runtime/privacy/log-text.ts';

export type ChangeRequest = {
  method: 'GET' | 'POST';
  url: URL;
  headers: Record<string, string>;
};

export type SourceAnswer = { status: number; text: string };

export type AskOptions = AddressRules & { maxBytes: number; timeoutMs: number; signal: AbortSignal };

/**
 * Sends one request, and reads an answer of bounded size within bounded time. It follows no redirect: the credentials must not
 * reach another host.
 * @throws MessageFailure whose text has neither query nor headers.
 */
export const ask = async (
  { method, url, headers }: ChangeRequest,
  { maxBytes, timeoutMs, signal, ...rules }: AskOptions,
): Promise<SourceAnswer> => {
  const name = safe`${method} ${ownText(url.origin + url.pathname)}`;
  const late = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const client = new Client(url.origin, {
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: { timeout: Math.min(timeoutMs, 5_000), lookup: checkedLookup(rules) },
  });
  try {
    checkAddress(url.hostname, rules);
    const {
      statusCode,
      headers: answerHeaders,
      body,
    } = await client.request({
      method,
      path: `${url.pathname}${url.search}`,
      signal: late,
      headers: { ...headers, 'accept-encoding': 'identity', 'user-agent': 'sis-relay' },
    });
    if (statusCode >= 300 && statusCode < 400)
      throw failure(
        safe`${name} answered with a redirect (${statusCode}), which sis-relay does not follow`,
        addressRemedy,
      );
    const encoding = answerHeaders['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw failure(
        safe`${name} answered in ${encodingText(String(encoding))}, which sis-relay did not ask for`,
      );
    return { status: statusCode, text: await textOf(body, maxBytes, name) };
  } catch (error) {
    if (error instanceof MessageFailure) throw error;
    throw new MessageFailure('unavailable', safe`${name} gave no answer (${errorCode(error)})`, {
      cause: error,
    });
  } finally {
    void client.destroy();
  }
};

const textOf = async (body: AsyncIterable<Uint8Array>, maxBytes: number, name: SafeText): Promise<string> => {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > maxBytes)
      throw failure(
        safe`${name} answered with more than ${maxBytes} bytes`,
        'Lower CHANGES_LIMIT to make pages smaller, or raise CHANGES_MAXIMUM_BYTES.',
      );
    parts.push(part);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw failure(safe`${name} gave an answer that is not UTF-8`);
  }
};

/** Any other text in its place is the source's own. */
const encodingText = (encoding: string): SafeText => {
  const known = safeMatch(encoding, /^(?:(?:x-)?(?:gzip|compress)|deflate|br|zstd)$/i);
  return known === undefined ? safe`an unknown encoding` : safe`the encoding ${known}`;
};

const addressRemedy = 'Set CHANGES_URL to the address that the redirect leads to.';

/** A failure of the source: reported with each run until it is corrected. */
export const failure = (
  message: SafeText,
  remedy = 'Report this to the people who run the source of changes.',
): MessageFailure => new MessageFailure('unexpected-answer', message, { remedy });
