import { hidden } from '../../message/hidden.ts';
import { decoded } from './escapes.ts';
import { hiddenIn } from './shown-message.ts';

/**
 * The platform's own words without the words and numbers of the message: as they are, in any case, or with the escapes of HTML, URLs and
 * JSON. A text that has one of them with escapes is shown without escapes. Not found are names that appear only in the platform's answer,
 * and words in other spellings or encodings, or cut off.
 */
export const maskedText = (text: string, body: string): string => {
  const secrets = secretsIn(body);
  const plain = decoded(text);
  const shown = withoutSecrets(plain, secrets);
  return shown === plain ? withoutSecrets(text, secrets) : shown;
};

/** A number or a word. An accent may be a sign of its own. */
const tokens = /(?<![\p{L}\p{M}])\p{N}+(?:[.,]\p{N}+)?|[\p{L}\p{M}\p{N}]+/gu;

/** These scripts have no spaces between words: two characters in a row may be a name. */
const unspaced = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]{2}/u;

const pairsOf = (token: string): string[] =>
  unspaced.test(token) ? [...token].flatMap((sign, at, all) => (at > 0 ? `${all[at - 1]}${sign}` : [])) : [];

/** A word of two letters counts only if it may be a name: `Li`, but not `is`. */
const isLong = (word: string): boolean =>
  word.length >= 3 || /^(?:\p{Lu}\p{L}|\p{Lo}{2}|\p{N}+)$/u.test(word);

/** `8.5` is `8.50` and `8,5`. */
const bare = (token: string): string =>
  /^\p{N}/u.test(token) && Number.isFinite(Number(token.replace(',', '.')))
    ? String(Number(token.replace(',', '.')))
    : token.normalize().toLowerCase();

const withoutSecrets = (text: string, secrets: ReadonlySet<string>): string =>
  text
    .normalize()
    .replace(tokens, (token) =>
      secrets.has(bare(token)) || pairsOf(token).some((pair) => secrets.has(pair)) ? hidden : token,
    );

/** The words of one letter are needed several times in a row. */
let last: { body: string; secrets: ReadonlySet<string> } | undefined;

const secretsIn = (body: string): ReadonlySet<string> => {
  if (last?.body === body) return last.secrets;
  const secrets = new Set<string>();
  for (const text of hiddenIn(body))
    for (const [token] of decoded(text).normalize().matchAll(tokens)) {
      if (isLong(token)) secrets.add(bare(token));
      for (const pair of pairsOf(token)) secrets.add(pair);
    }
  last = { body, secrets };
  return secrets;
};
