import * as z from 'zod';

/** Names that belong to nobody. */
const isExample = (name: string): boolean => /(^|[.@])example(\.(com|edu|net|org))?$/.test(name);

/** What is wrong with the platform's address or the alarms' mail address. `examples`: may it belong to nobody? */
export const addressProblem = (
  name: 'platformUrl' | 'alarmEmail',
  value: string,
  { examples }: { examples: boolean },
): string | undefined => {
  if (name === 'alarmEmail' && !z.email().safeParse(value).success)
    return `alarmEmail: ${value} is not a mail address`;
  const host = name === 'alarmEmail' ? value : (URL.parse(value)?.hostname ?? '');
  return examples || !isExample(host) ? undefined : `${name}: ${value} is an example address`;
};
