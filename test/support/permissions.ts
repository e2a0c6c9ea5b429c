/** What was granted, and what was used of it, in the same words: "patch apps/deployments" and the like. */
import type { PolicyRule } from '../../src/kubernetes/policy-rule.ts';
import type { AuditEntry } from './audit.ts';

export function grantedBy(rules: readonly PolicyRule[]): Set<string> {
  const words = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
  );
  return new Set(words);
}

/** What was needed for these requests to succeed. */
export function usedBy(requests: readonly AuditEntry[]): Set<string> {
  const used = requests.flatMap(({ verb, objectRef, responseStatus }) => {
    const { apiGroup = '', resource = '', subresource } = objectRef ?? {};
    const what = `${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`;
    // An apply that makes an object needs the permission to create it, too.
    return responseStatus?.code === 201 ? [`${verb} ${what}`, `create ${what}`] : [`${verb} ${what}`];
  });
  return new Set(used);
}
