/** The query parameters that sign a request to the platform. */
export const signatureName = 'x_[a-et]';

/** Between a name and its value, also in JSON, within another text, or percent-encoded: `name=`, `"name":"`, `name%3D`. */
const equals = String.raw`(\\?["']?\s*(?:[=:]|%(?:25)*3d)\s*\\?["']?)`;
/** A value ends where the next pair begins, also where `&` is percent-encoded. */
const noNext = '(?!%(?:25)*26)';

/** The patterns of secrets, and the texts that replace them. This is the only list: logs, errors and answers all use it. */
const patterns: [RegExp, string][] = [
  // The query of a signed request or of a pre-signed address.
  [/\?[^\s"'<>?]*=[^\s"'<>]*/g, '?…'],
  [
    new RegExp(
      `(${signatureName}|access_token|refresh_token|client_secret)${equals}(?:${noNext}[^\\s&"'<>\\\\])+`,
      'gi',
    ),
    '$1$2…',
  ],
  [/\b(x_[a-z]+|credential|signature)=[^\s"'<>,;&]+/gi, '$1=…'],
  // Not an ordinary word, as in `basic authentication`. With letters in both cases, as inline flags are not safe (see the test of them).
  [
    /\b([Bb][Ee][Aa][Rr][Ee][Rr]|[Bb][Aa][Ss][Ii][Cc])(?:\s|%20|\+)+(?!(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,15})(?![\w.~+/=%-]))[\w.~+/=%-]{8,}/g,
    '$1 …',
  ],
  // A JSON Web Token, whole or cut off. It is matched to its end, else each of its parts would be searched to the end.
  [/\beyJ[\w-]*(?:\.[\w-]*)*/g, '…'],
  // Any other key or token. A short value may be an ordinary word, as in `token: missing`.
  [
    new RegExp(
      String.raw`\b(\w*(?:app|user|access|secret|private)[_-]?key|\w+[_-]?token|client[_-]?(?:secret|assertion))${equals}(?:${noNext}[^\s&"',;}]){12,}`,
      'gi',
    ),
    '$1$2…',
  ],
];

/** Each pattern needs one of these to match. Ids, words and paths have none of them and are not searched further. */
const suspect = /[?=:%]|eyJ|(?:bearer|basic)[\s+]/i;

/** An address without query and fragment. */
export const withoutQuery = (address: string): string => address.replace(/[?#].*/s, '');

/** A text without what looks like a secret. It is cut to a length only afterwards, so that no secret is cut and then missed. */
export const withoutSecrets = (text: string, maxLength: number): string => {
  const redacted = suspect.test(text)
    ? patterns.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text)
    : text;
  return redacted.length > maxLength ? `${redacted.slice(0, maxLength - 1)}…` : redacted;
};
