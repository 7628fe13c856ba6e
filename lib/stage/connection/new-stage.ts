import { createSecretVersions } from '../../platform/auth/versions.ts';
import { unlessError } from '../../runtime/aws/error.ts';
import type { StageAnswers } from '../init.ts';
import { type TargetOptions, targetFrom } from '../target.ts';
import { type AccountReport, checkAccount } from './account.ts';
import { type ConnectionReport, checkConnection } from './check.ts';
import { withConnection } from './connection.ts';

/** `untried`: why the service's credential was not tried. */
export type NewStageReport = ConnectionReport & { untried?: string; account: AccountReport };

/**
 * Asks the platform, the secret and the account's limits: nothing else of the stage need exist yet.
 * @throws Error of AWS if the caller's own credentials are missing or not accepted.
 */
export const checkNewStage = async (
  { stage, region, platformUrl, lpVersion, leVersion }: StageAnswers,
  options: TargetOptions,
): Promise<NewStageReport | undefined> => {
  const secret = `sis-relay/${stage}/service`;
  const target = {
    ...targetFrom({ ...options, stage, region }),
    platform: async () => ({
      PLATFORM_URL: platformUrl,
      SECRET_PREFIX: `sis-relay/${stage}`,
      PLATFORM_LP_VERSION: lpVersion,
      PLATFORM_LE_VERSION: leVersion,
    }),
    deadLetterQueueUrl: async () => platformUrl,
    ledgerTable: undefined,
  };
  const secrets = createSecretVersions(await target.secretsManager());
  const read = await unlessError(/^AccessDenied/, async () => ({ found: await secrets.current(secret) }));
  const checked = await withConnection(target, (connection) =>
    checkConnection(connection, { mayLackSecret: true }),
  );
  if (checked === undefined) return undefined;
  const report = { ...checked, account: await checkAccount(target) };
  const problems = report.problems
    // It is created after the stage's file.
    .filter(({ what }) => read?.found !== undefined || !what.includes(secret))
    // The usual remedy is for messages that wait.
    .map(({ what, remedy }) => ({
      what,
      remedy: report.reachable
        ? remedy
        : 'Check --platform-url, and whether this machine reaches that address.',
    }));
  if (read?.found !== undefined) return { ...report, problems };
  const why =
    read === undefined ? `You may not read the secret ${secret}` : `There is no secret ${secret} yet`;
  return { ...report, problems, untried: `${why}: its credential was not tried.` };
};
