/** Replaces grades, names, comments and any other personal text. */
export const hidden = '•••';

/** A producer may name a field as it likes: after a person, by a sentence, or with control characters. */
export const fieldName = (name: string): string => (/^[\w-]{1,40}$/.test(name) ? name : hidden);
