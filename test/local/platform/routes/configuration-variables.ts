import { json, ok } from '../http/answer.ts';
import { object } from '../http/bind.ts';
import { bindingError, notFound } from '../http/refusal.ts';
import { type Call, route } from '../route.ts';
import type { ConfigurationVariable } from '../state.ts';

const path = 'configVariables/{variable}';

export const configurationVariableRoutes = [
  route({
    method: 'GET',
    component: 'lp',
    path: `${path}/definition`,
    scope: 'core:*:*',
    permission: 'SeeConfiguration',
    handle: (call) => json(definitionOut(variableOf(call))),
  }),

  route({
    method: 'GET',
    component: 'lp',
    path: `${path}/values`,
    scope: 'core:*:*',
    permission: 'SeeConfiguration',
    handle: (call) => json({ OrgValue: variableOf(call).orgValue }),
  }),

  route({
    method: 'PUT',
    component: 'lp',
    path: `${path}/values/org`,
    scope: 'core:*:*',
    permission: 'ManageConfiguration',
    async handle(call) {
      const { OrgValue } = object({ OrgValue: (value) => value })(await call.json(), '');
      if (OrgValue === undefined) throw bindingError('OrgValue must be present');
      const variable = variableOf(call);
      call.state.tables.configurationVariables.put({
        ...variable,
        orgValue: OrgValue,
        writes: variable.writes + 1,
      });
      return ok;
    },
  }),
];

function variableOf({ texts, state }: Call<'variable'>): ConfigurationVariable {
  const variable = state.tables.configurationVariables.get(texts.variable);
  if (variable === undefined) throw notFound('Configuration variable');
  return variable;
}

function definitionOut({ configId, canEditSystemValue, defaultValue, ...variable }: ConfigurationVariable) {
  return {
    ...{ ConfigId: configId, Name: variable.name, Scope: variable.scope, Description: variable.description },
    ...{ DataType: variable.dataType, DefaultValue: defaultValue, CanEditSystemValue: canEditSystemValue },
  };
}
