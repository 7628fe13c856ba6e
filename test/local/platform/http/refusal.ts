import { type Answer, bare, json, text, withHeaders } from './answer.ts';

/** Thrown to end a call with an error of the platform; the answer's links need the address of the docs. */
class Refusal extends Error {
  readonly answer: (docsUrl: string) => Answer;

  constructor(message: string, answer: (docsUrl: string) => Answer) {
    super(message);
    this.answer = answer;
  }
}

type Problem = { status: number; anchor: string; title: string; detail: string };

export function problem(problem: Problem, headers: Record<string, string> = {}): Refusal {
  const { anchor, title, status, detail } = problem;
  return new Refusal(`${title}: ${detail}`, (docsUrl) => {
    const type = `${docsUrl}/res/apiprop.html#${anchor}`;
    const body = JSON.stringify({ type, title, status, detail });
    return withHeaders(text(status, 'application/problem+json', body), headers);
  });
}

export const notFound = (what: string) =>
  problem({
    status: 404,
    anchor: 'resource-not-found',
    title: 'Resource Not Found',
    detail: `${what} not found`,
  });

export const bindingError = (what: string) =>
  problem({
    status: 400,
    anchor: 'json-binding-error',
    title: 'JSON Binding Error',
    detail: `Provided JSON is invalid: ${what}`,
  });

export const badRequest = (detail: string) =>
  problem({ status: 400, anchor: 'bad-request', title: 'Bad Request', detail });

export const invalidParameters = (detail: string) =>
  problem({ status: 400, anchor: 'invalid-parameters', title: 'Invalid Parameters', detail });

/** The other form of errors, without a word. */
export const namelessErrors = () => refusalOf(json({ Errors: [] }, 400));

export const internalServerError = (detail: string) =>
  problem({ status: 500, anchor: 'internal-server-error', title: 'Internal Server Error', detail });

export const missingPermission = (orgUnitId: number, permission: string) =>
  problem({
    status: 403,
    anchor: 'forbidden',
    title: 'Forbidden',
    detail: `Not authorized for [ orgUnitId: ${orgUnitId}, securityVariableName: ${permission} ]`,
  });

export const missingScope = (scope: string) =>
  problem({
    status: 403,
    anchor: 'not-authorized',
    title: 'Not Authorized',
    detail: `Insufficient scope to call API. Required: ${scope}`,
  });

export const methodNotAllowed = (method: string, allowed: string[]) =>
  problem(
    {
      status: 405,
      anchor: 'method-not-allowed',
      title: 'Method Not Allowed',
      detail: `The resource does not support ${method}`,
    },
    { Allow: allowed.join(', ') },
  );

/** ID/key refusals are no problem documents: text or HTML, as the platform's sign-in layer writes them. */
export const invalidToken = () => refusalOf(text(403, 'text/plain', 'Invalid token'));

export const timestampOutOfRange = (serverSeconds: number) =>
  refusalOf(text(403, 'text/html', `Timestamp out of range\r\n${serverSeconds}`));

/** What some deployments answer to an upload of unknown length. */
export const bareServerError = () => refusalOf(bare(500));

const refusalOf = (answer: Answer) => new Refusal(`status ${answer.status}`, () => answer);

/** What is no refusal is a bug of the local platform, which must not pass for one of its client. */
export function errorAnswer(
  error: unknown,
  { docsUrl, onBug }: { docsUrl: string; onBug(error: unknown): void },
): Answer {
  if (error instanceof Refusal) return error.answer(docsUrl);
  onBug(error);
  return text(500, 'text/plain', `The local platform is broken: ${String(error)}`);
}
