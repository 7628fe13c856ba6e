/** Replaces grades, names, comments and any other personal text. */
export const hidden = '•••';

/** A producer may name a field as it likes: after a person, by a sentence, or with control characters. */
export const fieldName = (name: string): string => (/^[\w-]{1,40}$/.test(name) ? name : hidden);

/** An unknown field of a secret. Where somebody wrote the value instead of the name, the name is the secret. */
export const secretFieldName = (name: string): string => (/^[a-z_]{1,20}$/i.test(name) ? name : hidden);
