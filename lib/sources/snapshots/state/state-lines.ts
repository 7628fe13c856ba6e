/** By the kinds of a state's lines, the functions of the messages that a table was accepted by; `by` is as in `accepted.json`. */
export const functionsOf = (by: string): Map<string, string> =>
  new Map((JSON.parse(by) as string[][]).map(([name = ''], at) => [kindOf(at), name]));

/** The kind for a message, by its index in the mapping. */
export const kindOf = (at: number): string => at.toString(36);
