/** The name of an image, as people write it and as registries and nodes understand it. */
import { Problem } from '../devcluster/problem.ts';

/** A registry's host has a dot or a port, or is localhost; anything else before the first slash is part of the name. */
const SHAPE =
  /^(?:(?<host>localhost(?::\d+)?|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?|[a-z0-9-]+:\d+)\/)?(?<path>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(?::(?<tag>\w[\w.-]{0,127}))?(?<digest>@sha256:[a-f0-9]{64})?$/i;

/** The reference in full: with its registry, and with a tag unless it has a digest. */
export function fullReference(reference: string): string {
  const { host, path = '', tag, digest } = SHAPE.exec(reference)?.groups ?? {};
  if (path === '' || path !== path.toLowerCase()) {
    throw new Problem(
      `"${reference}" cannot be the name of an image.`,
      'Write it as registry/name:tag, e.g. IMG=ghcr.io/c5c3/memcached-operator:latest.',
    );
  }
  const inFull = host === undefined ? `docker.io/${path.includes('/') ? path : `library/${path}`}` : `${host}/${path}`;
  const isTagless = tag === undefined && digest === undefined;
  return `${inFull}${isTagless ? ':latest' : ''}${tag === undefined ? '' : `:${tag}`}${digest ?? ''}`;
}
