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

/**
 * DynamoDB's address and the region for signatures, as the SDK's own client finds them, with its readers of the environment and of
 * the configuration files. It leaves out the endpoints of single accounts, which need an account id that Lambda does not provide.
 */
export const dynamoDbEndpoint = async (options: ClientOptions): Promise<{ url: URL; region: string }> => {
  const named = options.profile === undefined ? {} : { profile: options.profile };
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
  const { name, dnsSuffix, dualStackDnsSuffix, supportsFIPS, supportsDualStack } = partition(region);
  if (given !== undefined && (fips || dualStack))
    throw new Error('An endpoint of its own and one of FIPS or dual stack exclude each other');
  if ((fips && !supportsFIPS) || (dualStack && !supportsDualStack))
    throw new Error(`${region} has no endpoint of FIPS, or of dual stack`);
  // The usual endpoints of GovCloud are those of FIPS.
  const service = fips && (dualStack || name !== 'aws-us-gov') ? 'dynamodb-fips' : 'dynamodb';
  const host = `${service}.${region}.${dualStack ? dualStackDnsSuffix : dnsSuffix}`;
  return { url: new URL(given ?? `https://${host}`), region };
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
