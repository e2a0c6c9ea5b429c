/** Authentication and encryption need a Secret, and to be switched on. */
import { type Check, required, type Warning } from './field-error.ts';

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

export const clientCertNeedsTls: Warning = ({ spec }) => {
  const { enabled, enableClientCert } = spec.security.tls;
  if (enabled || !enableClientCert) return undefined;
  return 'spec.security.tls.enableClientCert: has no effect while spec.security.tls.enabled is not true';
};
