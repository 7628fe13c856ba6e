import type { Execution, LambdaClient } from '@aws-sdk/client-lambda';

/** The longest `executionTimeout` of serverless.yml. */
export const longestExecutionDays = 14;

type ListOptions = { Statuses?: ['RUNNING']; DurableExecutionName?: string };

/**
 * The executions of a function, the oldest first. AWS describes in several ways which versions are listed if none is named, and which
 * order `ReverseOrder` means: so each version is asked by its number, all pages are read, and they are sorted here.
 */
export const listExecutions = async (
  lambda: LambdaClient,
  FunctionName: string,
  options: ListOptions,
): Promise<Execution[]> => {
  const { paginateListDurableExecutionsByFunction: pagesOf } = await import('@aws-sdk/client-lambda');
  const found: Execution[] = [];
  for (const Qualifier of await versionsInUse(lambda, FunctionName))
    for await (const { DurableExecutions = [] } of pagesOf(
      { client: lambda },
      { FunctionName, Qualifier, ...options },
    ))
      found.push(...DurableExecutions);
  return found.sort(
    (one, other) => startedMs(one) - startedMs(other) || (arnOf(one) < arnOf(other) ? -1 : 1),
  );
};

const startedMs = ({ StartTimestamp }: Execution): number => StartTimestamp?.getTime() ?? 0;
const arnOf = ({ DurableExecutionArn = '' }: Execution): string => DurableExecutionArn;

/**
 * The versions of which executions may be running. They begin on the newest one alone, so that those that were replaced longer ago than
 * an execution may last have none. Versions are kept for ever: most of them need not be asked.
 */
const versionsInUse = async (client: LambdaClient, FunctionName: string): Promise<string[]> => {
  const { paginateListVersionsByFunction: pagesOf } = await import('@aws-sdk/client-lambda');
  const published: { number: number; sinceMs: number }[] = [];
  for await (const { Versions = [] } of pagesOf({ client }, { FunctionName }))
    for (const { Version, LastModified = '' } of Versions)
      if (/^\d+$/.test(Version ?? ''))
        published.push({ number: Number(Version), sinceMs: Date.parse(LastModified) });
  published.sort((one, other) => one.number - other.number);
  // A day more, as a version is published after its code was changed.
  const sinceMs = Date.now() - (longestExecutionDays + 1) * 24 * 3_600_000;
  return published
    .filter((_, at) => !((published[at + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) < sinceMs))
    .map(({ number }) => `${number}`);
};
