import type { SafeText } from '../../message/safe-text.ts';

/** In ‹›, as a file's name may be a person's: letters keep it, logs and what is shown of letters leave it out. */
export const fileName = (name: string): SafeText => `‹${storable(name).replaceAll('›', '>')}›` as SafeText;

/** Also removes a file's name that was cut. */
export const withoutFileNames = <Text extends string>(text: Text): Text =>
  text.replace(/‹[^›]*›?/g, 'a file') as Text;

/** SQS refuses a letter with such characters in an attribute, and a terminal obeys some of them. */
export const storable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Noncharacter_Code_Point}]/gu, '\u{fffd}');
