import { type SafeText, safe, safeMatch } from './safe-text.ts';

/** Replaces grades, names, comments and any other personal text. */
export const hidden = safe`•••`;

/** A producer may choose any field name: a person's name, a sentence, or control characters. */
export const fieldName = (name: string): SafeText => safeMatch(name, /^[\w-]{1,40}$/) ?? hidden;

/** For an unknown field of a secret. If a person wrote the value instead of the name, the name is the secret. */
export const secretFieldName = (name: string): SafeText => safeMatch(name, /^[a-z_]{1,20}$/i) ?? hidden;
