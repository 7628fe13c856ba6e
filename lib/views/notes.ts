/** `todo`: what a person is to do. */
export type Tone = 'good' | 'bad' | 'warn' | 'todo' | 'plain';

/** A sentence for an operator; its tone decides the colour, and the mark before it. */
export type Note = { tone: Tone; text: string };

/** The note, where there is something to tell. */
export const noteIf = (isSo: boolean, tone: Tone, text: string): Note[] => (isSo ? [{ tone, text }] : []);
