/**
 * Regions in which Lambda is known to have durable functions, without which four functions cannot be created. AWS has no list that a program
 * could ask, and began with these: others have them by now. Add a region here once AWS' page of capabilities by region has it.
 */
const withDurableFunctions = [
  'us-east-1',
  'us-east-2',
  'us-west-2',
  'ca-central-1',
  'eu-central-1',
  'eu-north-1',
  'eu-south-1',
  'eu-south-2',
  'eu-west-1',
  'ap-east-1',
  'ap-northeast-1',
  'ap-south-1',
  'ap-southeast-1',
  'ap-southeast-2',
  'ap-southeast-5',
  'ap-southeast-7',
];

const form = /^[a-z]{2}(-[a-z]+)+-\d$/;

/** Why a stage cannot be in a region. */
export const regionProblem = (region: string): string | undefined => {
  if (!form.test(region)) return 'must be a region';
  if (withDurableFunctions.includes(region)) return undefined;
  return `${region} is not known to have Lambda’s durable functions, which sis-relay needs. Name one of ${withDurableFunctions.join(', ')}; or, if AWS has them there by now, add it to lib/stage/regions.ts`;
};
