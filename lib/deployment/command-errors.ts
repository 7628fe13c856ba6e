/** What was asked for cannot or must not be done: exit status 1. */
export class Refusal extends Error {
  override name = 'Refusal';
}

/** What was asked for makes no sense as it was asked: exit status 2. */
export class Misuse extends Error {
  override name = 'Misuse';
}
