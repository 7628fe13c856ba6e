/** Replaces grades, names, comments and any other personal text. */
export const hidden = '•••';

/** A producer may choose any field name: a person's name, a sentence, or control characters. */
export const fieldName = (name: string): string => (/^[\w-]{1,40}$/.test(name) ? name : hidden);

/** For an unknown field of a secret. If a person wrote the value instead of the name, the name is the secret. */
export const secretFieldName = (name: string): string => (/^[a-z_]{1,20}$/i.test(name) ? name : hidden);
