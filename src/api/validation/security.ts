/** Authentication and encryption need a Secret, and are worth little by halves. */
import { type Check, invalid, required, type Warning } from './field-error.ts';

export const saslHasSecret: Check = ({ spec: { security } }) => {
  if (!security.sasl.enabled || security.sasl.credentialsSecretRef?.name) return [];
  const field = 'spec.security.sasl.credentialsSecretRef.name';
  return [required(field, 'credentialsSecretRef.name is required when SASL is enabled')];
};

export const tlsHasSecret: Check = ({ spec: { security } }) => {
  if (!security.tls.enabled || security.tls.certificateSecretRef?.name) return [];
  const field = 'spec.security.tls.certificateSecretRef.name';
  return [required(field, 'certificateSecretRef.name is required when TLS is enabled')];
};

export const clientCertNeedsTls: Check = ({ spec }) => {
  const { enabled, enableClientCert } = spec.security.tls;
  if (enabled || !enableClientCert) return [];
  return [invalid('spec.security.tls.enableClientCert', true, 'enableClientCert requires TLS to be enabled')];
};

export const clientsAreNotVerified: Warning = ({ spec: { security } }) => {
  const { enabled, enableClientCert } = security.tls;
  if (!enabled || enableClientCert || security.sasl.enabled) return undefined;
  return 'spec.security.tls.enableClientCert: connections are encrypted, but everyone may open one; set it to true, with the authority of the clients as ca.crt in the Secret, or enable spec.security.sasl';
};

export const passwordsAreInClear: Warning = ({ spec: { security } }) => {
  if (!security.sasl.enabled || security.tls.enabled) return undefined;
  return 'spec.security.sasl: passwords and data travel in clear; enable spec.security.tls';
};
