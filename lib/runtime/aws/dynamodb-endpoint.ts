import { partition } from '@aws-sdk/core/client';
import {
  loadConfig,
  NODE_REGION_CONFIG_FILE_OPTIONS,
  NODE_REGION_CONFIG_OPTIONS,
  NODE_USE_DUALSTACK_ENDPOINT_CONFIG_OPTIONS,
  NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS,
  resolveRegionConfig,
} from '@smithy/core/config';
import { resolveEndpointConfig } from '@smithy/core/endpoints';
import type { ClientOptions } from './clients.ts';

/** DynamoDB's address, and the region for signatures. */
export type DynamoDbEndpoint = { url: URL; region: string };

/**
 * Finds the endpoint as the SDK's own client does, with the SDK's readers of the environment and of the configuration files. It
 * leaves out the endpoints of single accounts, which need an account id that Lambda does not provide.
 */
export const dynamoDbEndpoint = async (options: ClientOptions): Promise<DynamoDbEndpoint> => {
  const { profile } = options;
  const named = profile === undefined ? {} : { profile };
  const places = resolveRegionConfig({
    region:
      options.region ??
      loadConfig(NODE_REGION_CONFIG_OPTIONS, { ...NODE_REGION_CONFIG_FILE_OPTIONS, ...named }),
    useFipsEndpoint: loadConfig(NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS, named),
  });
  const region = await places.region();
  const fips = await places.useFipsEndpoint();
  const dualStack = await loadConfig(NODE_USE_DUALSTACK_ENDPOINT_CONFIG_OPTIONS, named)();
  const given = options.endpoint ?? (await configuredEndpoint());
  if (given !== undefined && (fips || dualStack))
    throw new Error('An endpoint of its own and one of FIPS or dual stack exclude each other');
  return { url: new URL(given ?? `https://${hostOf(region, { fips, dualStack })}`), region };
};

/** AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, or a profile's value. */
const configuredEndpoint = async (): Promise<string | undefined> => {
  const unasked = (): never => {
    throw new Error('Nothing but what is configured is asked for');
  };
  const input = { useFipsEndpoint: false, useDualstackEndpoint: false, serviceId: 'DynamoDB' };
  const functions = { urlParser: unasked, endpointProvider: unasked };
  return resolveEndpointConfig({ ...input, ...functions }).serviceConfiguredEndpoint?.();
};

type Variant = { fips: boolean; dualStack: boolean };

const hostOf = (region: string, { fips, dualStack }: Variant): string => {
  const { name, dnsSuffix, dualStackDnsSuffix, supportsFIPS, supportsDualStack } = partition(region);
  if ((fips && !supportsFIPS) || (dualStack && !supportsDualStack))
    throw new Error(`${region} has no endpoint of FIPS, or of dual stack`);
  // The usual endpoints of GovCloud are those of FIPS.
  const isNamed = fips && (dualStack || name !== 'aws-us-gov');
  return `dynamodb${isNamed ? '-fips' : ''}.${region}.${dualStack ? dualStackDnsSuffix : dnsSuffix}`;
};
