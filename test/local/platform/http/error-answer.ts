import { type Answer, text } from './answer.ts';
import { Refusal } from './refusal.ts';

type ErrorContext = {
  docsUrl: string;
  onBug(error: unknown): void;
};

export function errorAnswer(error: unknown, { docsUrl, onBug }: ErrorContext): Answer {
  if (error instanceof Refusal) return error.answer(docsUrl);
  onBug(error);
  return text(500, 'text/plain', `The local platform is broken: ${String(error)}`);
}
