import {
  ListSecretsCommand,
  PutSecretValueCommand,
  type SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { unlessError } from '../../runtime/aws/error.ts';
import { readSecretIfAny, type SecretVersion } from '../../runtime/aws/secret.ts';

/** The versions of secrets, for token-refresh: it stages a value first, and makes it current when that is safe. */
export const createSecretVersions = (client: SecretsManagerClient) => {
  return {
    current: (name: string): Promise<SecretVersion | undefined> => readSecretIfAny(client, name),

    /** The version that was staged last. It may be current by now. */
    pending: (name: string): Promise<SecretVersion | undefined> =>
      readSecretIfAny(client, name, { stage: 'AWSPENDING' }),

    withId: (name: string, version: string): Promise<SecretVersion | undefined> =>
      readSecretIfAny(client, name, { version }),

    /** Stores a version under an id of 32 to 64 characters; false if another value already has that id. */
    stage: async (name: string, { version, text }: SecretVersion): Promise<boolean> => {
      const put = new PutSecretValueCommand({
        SecretId: name,
        ClientRequestToken: version,
        SecretString: text,
        VersionStages: ['AWSPENDING'],
      });
      return (await unlessError(/^ResourceExistsException$/, () => client.send(put))) !== undefined;
    },

    /** Makes a version current instead of another; false if that one is no longer current. */
    promote: async (name: string, { to, from }: { to: string; from: string }): Promise<boolean> => {
      const update = new UpdateSecretVersionStageCommand({
        SecretId: name,
        VersionStage: 'AWSCURRENT',
        MoveToVersionId: to,
        RemoveFromVersionId: from,
      });
      return (
        (await unlessError(/^Invalid(Parameter|Request)Exception$/, () => client.send(update))) !== undefined
      );
    },

    /** The secrets whose names have this prefix, each with the id of its current version if the list has it. */
    async *list(
      prefix: string,
    ): AsyncGenerator<{ name: string; version: string | undefined }, void, undefined> {
      let NextToken: string | undefined;
      do {
        const page = await client.send(
          new ListSecretsCommand({
            Filters: [{ Key: 'name', Values: [prefix] }],
            MaxResults: 100,
            NextToken,
          }),
        );
        for (const { Name: name, SecretVersionsToStages = {} } of page.SecretList ?? []) {
          const [version] =
            Object.entries(SecretVersionsToStages).find(([, on]) => on.includes('AWSCURRENT')) ?? [];
          if (name?.startsWith(prefix)) yield { name, version };
        }
        NextToken = page.NextToken;
      } while (NextToken !== undefined);
    },
  };
};

export type SecretVersions = ReturnType<typeof createSecretVersions>;
