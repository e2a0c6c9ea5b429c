/** The Prometheus exporter, under the name that the operator asks for by default. */
import { cp, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Part, partDirectory } from '../parts.ts';
import { type ImagePart, imagePart } from './image.ts';
import { addBasics } from './root.ts';

/** The part has the file `memcached_exporter`. It is a later version than the name says: the one that the Go module proxy has. */
export function exporterImage(exporter: Part): ImagePart {
  return imagePart({
    reference: 'docker.io/prom/memcached-exporter:v0.15.4',
    config: { user: 'nobody', entrypoint: ['/bin/memcached_exporter'], ports: ['9150/tcp'] },
    inputs: [],
    needs: [exporter],
    seconds: 2,
    async fillRoot({ root }) {
      await addBasics(root, { name: 'nobody', id: 65534 });
      await mkdir(path.join(root, 'bin'));
      await cp(path.join(partDirectory(exporter), 'memcached_exporter'), path.join(root, 'bin/memcached_exporter'));
    },
  });
}
