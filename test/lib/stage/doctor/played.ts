import { runDoctor } from '../../../../lib/stage/doctor/doctor.ts';
import type { PausedBefore } from '../../../../lib/stage/doctor/pause.ts';
import type { StepReport } from '../../../../lib/stage/doctor/report.ts';
import type { StepSandbox } from '../../../../lib/stage/doctor/sandbox.ts';
import type { Step } from '../../../../lib/stage/doctor/step.ts';
import { lambdaOf } from '../../../../lib/stage/lambda-client.ts';
import type { Target } from '../../../../lib/stage/target.ts';
import { never } from '../../desk/cli/office.ts';

type Command = { constructor: { name: string }; input: object };
type Client = { send(command: Command): Promise<object> };
type Change = (answer: object, action: string, input: object) => object | Promise<object>;

/** IAM's names, where they differ from those of calls. */
const actions: Record<string, string> = {
  'lambda:Invoke': 'lambda:InvokeFunction',
  's3:DeleteObject': 's3:DeleteObjectVersion',
};

/** A client that notes its calls, and whose answers are changed; `change` may throw in place of an answer. */
export const overheard = <Real extends object>(
  service: string,
  client: Real,
  { called, change = (answer) => answer }: { called: string[]; change?: Change | undefined },
): Real =>
  new Proxy(client, {
    get: (real, field) => {
      if (field !== 'send') return Reflect.get(real, field);
      return async (command: Command) => {
        const action = `${service}:${command.constructor.name.replace(/Command$/, '')}`;
        called.push(actions[action] ?? action);
        return change(await (real as unknown as Client).send(command), action, command.input);
      };
    },
  });

/** Lambda in which some calls are played, by their names. */
export const playedLambda = async (
  target: Target,
  plays: Record<string, (input: Record<string, string>) => unknown>,
  called: string[] = [],
): Promise<Awaited<ReturnType<StepSandbox['lambda']>>> => {
  const { lambda, sdk } = await lambdaOf(target);
  const send = async (command: Command): Promise<unknown> => {
    const action = command.constructor.name.replace(/Command$/, '');
    const play = plays[action];
    if (play === undefined) return (lambda as unknown as Client).send(command);
    return play(command.input as Record<string, string>);
  };
  // A page by page list checks what it is given.
  const client = Object.setPrototypeOf({ send }, sdk.LambdaClient.prototype) as typeof lambda;
  return { sdk, lambda: overheard('lambda', client, { called }) };
};

type Options = {
  lambda?: Awaited<ReturnType<StepSandbox['lambda']>>;
  secondMs?: number;
  signal?: AbortSignal;
  before?: PausedBefore;
};

/** As doctor tries it, though on emulators. */
export const tryOne = async (step: Step, target: Target, { lambda, ...options }: Options = {}) => {
  const report = await runDoctor(target, '1f2e3d4c', {
    steps: [step],
    signal: options.signal ?? never,
    isAws: true,
    before: options.before,
    corner: { secondMs: options.secondMs ?? 2, ...(lambda && { lambda: async () => lambda }) },
  });
  const [tried] = report.steps;
  return { ...(tried as StepReport), left: report.left, pausedBefore: report.pausedBefore };
};
