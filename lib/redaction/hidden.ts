/** What stands for a grade, a name, a comment or any other text that is nobody's business. */
export const hidden = '•••';

/** A name that the producer made up may be somebody's, or a text by itself, or hold what a terminal obeys. */
export const fieldName = (name: string): string => (/^[\w-]{1,40}$/.test(name) ? name : hidden);
