import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type * as z from 'zod';
import { MessageFailure } from '../../message/failure.ts';
import { jsonIn } from '../../message/json.ts';
import { ownText, type SafeText, safe, safeList } from '../../message/safe-text.ts';
import { readSecret } from '../../runtime/aws/secret.ts';
import { unreadable } from './credentials.ts';

/**
 * Reads a secret that is not a credential for the platform, by its name below the prefix, such as `lti-links/9001`: JSON with the
 * fields of the shape.
 * @throws MessageFailure that names the secret, but not its content.
 */
export type ReadSecret = <Shape extends z.ZodObject>(name: SafeText, shape: Shape) => Promise<z.infer<Shape>>;

type Options = { client: SecretsManagerClient; prefix: string; readTimeoutMs?: number };

/** Not cached: such a secret is rarely needed, and must be the newest. */
export const createSecretReader =
  ({ client, prefix, readTimeoutMs }: Options): ReadSecret =>
  async (name, shape) => {
    const secret = safe`${ownText(prefix)}/${name}`;
    const { text } = await readSecret(client, secret, { timeoutMs: readTimeoutMs }).catch(
      (error: unknown) => {
        throw unreadable(secret, error, () => {
          const remedy = `Create the secret ${secret} as JSON with ${fieldsOf(shape)}, then replay.`;
          return new MessageFailure('missing-credential', safe`There is no secret ${secret}`, { remedy });
        });
      },
    );
    const parsed = shape.safeParse(jsonIn(text));
    if (parsed.success) return parsed.data;
    const wrong = parsed.error.issues.map(({ path }) => ownText(path.join('.') || 'the whole'));
    const message = safe`The secret ${secret} has missing or wrong fields: ${safeList(wrong)}`;
    const remedy = `Put JSON with ${fieldsOf(shape)} into the secret ${secret}. Waiting messages then continue.`;
    throw new MessageFailure('credentials', message, { remedy });
  };

const fieldsOf = (shape: z.ZodObject): string => Object.keys(shape.shape).join(' and ');
