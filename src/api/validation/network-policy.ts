/** The two places for the NetworkPolicy mean the same, so only one of them can be right. */
import { type Check, forbidden, type Warning } from './field-error.ts';

export const networkPolicyHasOnePlace: Check = (_memcached, { spec }) => {
  if (!spec.networkPolicy || !spec.security?.networkPolicy) return [];
  const detail = 'spec.networkPolicy and spec.security.networkPolicy mean the same, specify only one';
  return [forbidden('spec.security.networkPolicy', detail)];
};

export const everyoneMayConnect: Warning = ({ spec }, { spec: written }) => {
  const { enabled, allowedSources } = spec.networkPolicy;
  if (!enabled || allowedSources.length > 0) return undefined;
  const place = written.networkPolicy ? 'spec.networkPolicy' : 'spec.security.networkPolicy';
  return `${place}.allowedSources: is empty, so that everyone may connect; list those who may`;
};
