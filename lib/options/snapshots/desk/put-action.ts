import type { CommandContext } from '../../../desk/cli/command-context.ts';
import { loadIntegrations } from '../../../stage/integrations.ts';
import { putFile } from './put.ts';

type PutOptions = { name?: string; mappingOf?: string; reason?: string };

export const put = async (context: CommandContext, file: string, options: PutOptions): Promise<void> => {
  await context.checkAudit();
  const integrations = await loadIntegrations();
  const onProgress = context.bar('Comparing');
  context.finish((await putFile(context, { file, ...options, integrations, onProgress })) !== undefined);
};
