import {
  GetSecretValueCommand,
  ListSecretsCommand,
  PutSecretValueCommand,
  type SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';

export type SecretVersion = {
  version: string;
  text: string;
  /** When it was made, where Secrets Manager has told. */
  createdMs?: number | undefined;
};

/** The versions of secrets, for token-refresh: it stages a value first, and makes it current when that is safe. */
export const createSecretVersions = (client: SecretsManagerClient) => {
  const read = async (name: string, which: { VersionId?: string; VersionStage?: string }) => {
    try {
      const secret = await client.send(new GetSecretValueCommand({ SecretId: name, ...which }));
      return {
        version: secret.VersionId ?? '',
        text: secret.SecretString ?? '',
        createdMs: secret.CreatedDate?.getTime(),
      };
    } catch (error) {
      // A secret that is about to be deleted answers InvalidRequestException.
      if (isOneOf(error, 'ResourceNotFoundException', 'InvalidRequestException')) return undefined;
      throw error;
    }
  };

  return {
    current: (name: string): Promise<SecretVersion | undefined> => read(name, { VersionStage: 'AWSCURRENT' }),

    /** The version that was staged last. It may be current by now. */
    pending: (name: string): Promise<SecretVersion | undefined> => read(name, { VersionStage: 'AWSPENDING' }),

    withId: (name: string, version: string): Promise<SecretVersion | undefined> =>
      read(name, { VersionId: version }),

    /** Stores a version under an id of 32 to 64 characters; false where another value has that id already. */
    stage: async (name: string, { version, text }: SecretVersion): Promise<boolean> => {
      try {
        await client.send(
          new PutSecretValueCommand({
            SecretId: name,
            ClientRequestToken: version,
            SecretString: text,
            VersionStages: ['AWSPENDING'],
          }),
        );
        return true;
      } catch (error) {
        if (isOneOf(error, 'ResourceExistsException')) return false;
        throw error;
      }
    },

    /** Makes a version current instead of another; false where that one is no longer current. */
    promote: async (name: string, { to, from }: { to: string; from: string }): Promise<boolean> => {
      try {
        await client.send(
          new UpdateSecretVersionStageCommand({
            SecretId: name,
            VersionStage: 'AWSCURRENT',
            MoveToVersionId: to,
            RemoveFromVersionId: from,
          }),
        );
        return true;
      } catch (error) {
        if (isOneOf(error, 'InvalidParameterException', 'InvalidRequestException')) return false;
        throw error;
      }
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

const isOneOf = (error: unknown, ...names: string[]): boolean =>
  error instanceof Error && names.includes(error.name);
