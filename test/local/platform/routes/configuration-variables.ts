import { json, ok } from '../http/answer.ts';
import { bind, record } from '../http/bind.ts';
import { bindingError } from '../http/refusal.ts';
import { type Call, found, route } from '../route.ts';
import type { Row } from '../state.ts';

const path = 'lp/configVariables/{variable}';
const reads = { scope: 'core:*:*', permission: 'SeeConfiguration' } as const;

export const configurationVariableRoutes = [
  route(`GET ${path}/definition`, reads, (call) => json(definitionOut(variableOf(call)))),

  route(`GET ${path}/values`, reads, (call) => json({ OrgValue: variableOf(call).orgValue })),

  route(`PUT ${path}/values/org`, { scope: 'core:*:*', permission: 'ManageConfiguration' }, async (call) => {
    const { OrgValue } = bind(record, await call.json());
    if (OrgValue === undefined) throw bindingError('OrgValue must be present');
    const variable = variableOf(call);
    const { configurationVariables } = call.tables;
    configurationVariables.put({ ...variable, orgValue: OrgValue, writes: variable.writes + 1 });
    return ok;
  }),
];

const variableOf = ({ texts, tables }: Call<'variable'>): Row<'configurationVariables'> =>
  found(tables.configurationVariables.get(texts.variable), 'Configuration variable');

function definitionOut({ configId, name, scope, ...rest }: Row<'configurationVariables'>) {
  return {
    ConfigId: configId,
    Name: name,
    Scope: scope,
    Description: rest.description,
    DataType: rest.dataType,
    DefaultValue: rest.defaultValue,
    CanEditSystemValue: rest.canEditSystemValue,
  };
}
