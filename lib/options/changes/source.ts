import * as z from 'zod';
import { MessageFailure } from '../../message/failure.ts';
import { jsonIn } from '../../message/json.ts';
import { ownText, type SafeText, safe } from '../../message/safe-text.ts';
import type { ReadSecret } from '../../platform/auth/secret-reader.ts';
import { type AskOptions, ask, failure, type SourceAnswer } from './ask.ts';
import type { PollSettings } from './poll-settings.ts';

/** A header to send as it is, or a key that another address exchanges for a short-lived token. */
export const secretShape = z.object({
  header: z
    .string()
    .regex(/^[\w-]{1,60}$/)
    .optional(),
  value: z.string().min(1).optional(),
  tokenUrl: z.url({ protocol: /^https?$/ }).optional(),
  apiKey: z.string().min(1).optional(),
});

/** Characters that a header may hold. */
const headerText = /^[\t\x20-\x7e]+$/;
const tokenForm = /^[\w.~+/=-]{1,8192}$/;

type SourceSettings = PollSettings['changes'] & { url: string };

/** The SIS' address of changes. Its methods throw a MessageFailure whose text repeats nothing of the secret. */
export class Source {
  readonly #settings: SourceSettings;
  readonly #readSecret: ReadSecret;
  readonly #options: Omit<AskOptions, 'signal'>;
  /** Undefined: it is signed in by the next request. */
  #headers: Record<string, string> | undefined;

  constructor(settings: SourceSettings, { readSecret }: { readSecret: ReadSecret }) {
    this.#settings = settings;
    this.#readSecret = readSecret;
    this.#options = {
      maxBytes: settings.maximumBytes,
      timeoutMs: settings.timeoutMs,
      allowLoopback: settings.isPrivate,
      allowPrivate: settings.isPrivate,
    };
  }

  /** Reads the page of changes after an id. */
  async page(after: string | undefined, signal: AbortSignal): Promise<string> {
    const { url: pages, afterParameter, limitParameter, limit, accept } = this.#settings;
    const url = new URL(pages);
    if (after !== undefined) url.searchParams.set(afterParameter, after);
    url.searchParams.set(limitParameter, String(limit));
    const answer = await this.#read(url, accept, signal);
    if (answer.status !== 200)
      throw failure(
        safe`The source of changes answered with ${answer.status}`,
        'Check CHANGES_URL and the names of its parameters.',
      );
    return answer.text;
  }

  /** The JSON at a path of the source's own host; undefined: it has nothing there. */
  async get(path: string, signal: AbortSignal): Promise<unknown> {
    const url = new URL(path, this.#settings.url);
    const { status, text } = await this.#read(url, 'application/json', signal);
    if (status === 404 || status === 410) return undefined;
    const json = status === 200 ? jsonIn(text) : undefined;
    if (json === undefined)
      throw failure(
        safe`The source of changes answered a look-up with ${status} and no JSON`,
        `Check the paths under "lookUp" of change-poll/mapping.json.`,
      );
    return json;
  }

  async #read(url: URL, accept: string, signal: AbortSignal): Promise<SourceAnswer> {
    const { secretName } = this.#settings;
    let answer = await this.#ask(url, accept, signal);
    if (answer.status === 401 && secretName !== undefined) {
      // A token may have expired, or a key was rotated.
      this.#headers = undefined;
      answer = await this.#ask(url, accept, signal);
    }
    if (answer.status === 401 || answer.status === 403) {
      this.#headers = undefined;
      throw new MessageFailure(
        'credentials',
        safe`The source of changes refuses the key of sis-relay (${answer.status})`,
        {
          remedy: `Put a valid key into the secret ${secretName ?? 'that CHANGES_SECRET names'}.`,
        },
      );
    }
    if (answer.status >= 500 || answer.status === 408 || answer.status === 429)
      throw silence(safe`The source of changes`, answer.status);
    return answer;
  }

  async #ask(url: URL, accept: string, signal: AbortSignal): Promise<SourceAnswer> {
    this.#headers ??= await this.#signIn(signal);
    const headers = { accept, ...this.#headers };
    return ask({ method: 'GET', url, headers }, { ...this.#options, signal });
  }

  async #signIn(signal: AbortSignal): Promise<Record<string, string>> {
    const { secretName, isPrivate } = this.#settings;
    if (secretName === undefined) return {};
    const secret = await this.#readSecret(ownText(secretName), secretShape);
    const { header, value, tokenUrl, apiKey } = secret;
    if (header !== undefined && value !== undefined && headerText.test(value)) return { [header]: value };
    const isPlain = tokenUrl?.startsWith('http:') && !isPrivate;
    if (tokenUrl === undefined || apiKey === undefined || isPlain || !headerText.test(apiKey))
      throw new MessageFailure(
        'credentials',
        safe`The secret ${ownText(secretName)} for the source of changes has missing or wrong fields`,
        {
          remedy:
            'Put {"header": "Authorization", "value": "Bearer …"} or {"tokenUrl": "https://…", "apiKey": "…"} into this secret.',
        },
      );
    return this.#requestToken(new URL(tokenUrl), { apiKey, secretName, signal });
  }

  async #requestToken(
    url: URL,
    { apiKey, secretName, signal }: { apiKey: string; secretName: string; signal: AbortSignal },
  ): Promise<Record<string, string>> {
    const answer = await ask(
      { method: 'POST', url, headers: { authorization: `Bearer ${apiKey}` } },
      { ...this.#options, maxBytes: 65_536, signal },
    );
    if (answer.status >= 500) throw silence(safe`The token address of the source of changes`, answer.status);
    const token = tokenIn(answer.text);
    if (answer.status !== 200 || token === undefined)
      throw new MessageFailure(
        'credentials',
        safe`The token address of the source of changes gave no token (${answer.status})`,
        { remedy: `Check whether the key in the secret ${secretName} is still valid.` },
      );
    return { authorization: `Bearer ${token}` };
  }
}

const silence = (what: SafeText, status: number): MessageFailure =>
  new MessageFailure('unavailable', safe`${what} answered with ${status}`);

/** The answer is the token alone, or an OAuth answer. */
const tokenIn = (text: string): string | undefined => {
  const json = jsonIn(text);
  const { access_token: accessToken } = Object(json) as { access_token?: unknown };
  const token = typeof json === 'string' ? json : (accessToken ?? text.trim());
  return typeof token === 'string' && tokenForm.test(token) ? token : undefined;
};
