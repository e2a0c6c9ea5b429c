/** With which rights the servers run, and whom they trust. */
import type { LocalObjectReference, PodSecurityContext, SecurityContext } from '../../kubernetes/core.ts';
import { boolean, embedded, object } from './json-schema.ts';
import { networkPolicySchema } from './network-policy.ts';

const saslSchema = object('Authentication of clients.', {
  enabled: boolean('Whether clients must authenticate.', { default: false }),
  credentialsSecretRef: embedded<LocalObjectReference>(
    'LocalObjectReference',
    'The Secret with the credentials. Its key memcached-sasl-db has lines such as "user@name-of-this-memcached:password" for SASL over the binary protocol; its key password-file has lines such as "user:password" for authentication over the ASCII protocol.',
  ),
});

const tlsSchema = object('Encryption of connections.', {
  enabled: boolean('Whether port 11211 speaks TLS, and nothing else.', { default: false }),
  certificateSecretRef: embedded<LocalObjectReference>(
    'LocalObjectReference',
    'The Secret with the certificate (tls.crt), its key (tls.key) and, for client certificates, the authority that signs them (ca.crt).',
  ),
  enableClientCert: boolean(
    'Whether clients must show a certificate that the authority in ca.crt has signed. Default: false.',
  ),
});

export const securitySchema = object('With which rights servers run, and whom they trust.', {
  podSecurityContext: embedded<PodSecurityContext>(
    'PodSecurityContext',
    'Security context of the pods. It replaces the default as a whole: not root, user, group and file system group 11211, seccomp profile RuntimeDefault.',
  ),
  containerSecurityContext: embedded<SecurityContext>(
    'SecurityContext',
    'Security context of the containers. It replaces the default as a whole: no privilege escalation, read-only root file system, no capabilities.',
  ),
  sasl: saslSchema,
  tls: tlsSchema,
  networkPolicy: networkPolicySchema,
});
