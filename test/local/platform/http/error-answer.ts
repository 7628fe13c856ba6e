import { type Answer, text } from './answer.ts';
import { Refusal } from './refusal.ts';

export function errorAnswer(error: unknown, docsUrl: string): Answer {
  if (error instanceof Refusal) return error.answer(docsUrl);
  // A fault of this program, not of its caller: it must not pass for an error of the platform.
  console.error('local platform:', error);
  return text(500, 'text/plain', `The local platform is broken: ${String(error)}`);
}
