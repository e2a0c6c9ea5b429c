/** A Service, as far as we write it. */
import type { KubernetesObject } from './object.ts';

export interface Service extends KubernetesObject {
  readonly apiVersion: 'v1';
  readonly kind: 'Service';
  readonly spec: {
    readonly clusterIP: 'None';
    readonly ports: readonly {
      readonly name: string;
      readonly port: number;
      readonly targetPort: string;
      readonly protocol: 'TCP';
    }[];
    readonly selector: Readonly<Record<string, string>>;
  };
}
