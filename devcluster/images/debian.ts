/** Debian packages and sources, through an apt area of our own, so that nothing depends on what this machine has installed. */
import { access, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../command.ts';
import { withLock } from '../lock.ts';
import { type BuildContext, cacheDirectory } from '../parts.ts';
import { Problem } from '../problem.ts';

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** What packages ask for only to be installed in the full sense; treated as present, to keep the roots small. */
const assumed = ['ca-certificates', 'debconf', 'dpkg'];

export interface Debian {
  /** The .deb files of these packages and of all that they depend on. */
  closure(names: readonly string[]): Promise<string[]>;
  /** The .deb file of this package alone. */
  single(name: string): Promise<string>;
  /** Puts the upstream tar of the newest source package into the directory, and says its file name. */
  source(name: string, directory: string): Promise<string>;
}

/** Debian 12 for packages, sid for sources, as the archive has them now. */
export async function openDebian({ signal, report }: BuildContext): Promise<Debian> {
  const area = path.join(cacheDirectory(), 'debian');
  await requireApt(signal);
  const apt = (args: readonly string[], cwd = area) => fetching([...areaOptions(area), ...args], { cwd, signal });
  // apt does not wait for another apt that uses the same area.
  const exclusively = <T>(work: () => Promise<T>) => withLock('debian', work, { signal });

  await exclusively(async () => {
    report("reading Debian's package lists");
    for (const directory of ['state/lists/partial', 'cache/archives/partial', 'none/partial']) {
      await mkdir(path.join(area, directory), { recursive: true });
    }
    const architecture = (await run('dpkg', ['--print-architecture'], { signal })).trim();
    await writeFile(path.join(area, 'status'), statusFile(architecture));
    await writeFile(path.join(area, 'archive.sources'), sourcesFile(await hostArchives(area, signal), architecture));
    await apt(['update', '-o', 'APT::Update::Error-Mode=any']);
  });

  const archives = path.join(area, 'cache/archives');
  return {
    closure: (names) =>
      exclusively(async () => {
        // apt does not name what it has already downloaded, hence the look into an empty place.
        const uris = await apt([
          'install',
          '--yes',
          '--print-uris',
          '-o',
          `Dir::Cache::archives=${area}/none`,
          ...names,
        ]);
        await apt(['install', '--yes', '--download-only', ...names]);
        return fileNames(uris).map((file) => path.join(archives, file));
      }),
    single: (name) =>
      exclusively(async () => {
        const [file = ''] = fileNames(await apt(['download', '--print-uris', name]));
        await apt(['download', name], archives);
        return path.join(archives, file);
      }),
    source: (name, directory) =>
      exclusively(async () => {
        await apt(['source', '--download-only', '--tar-only', name], directory);
        const [file = ''] = (await readdir(directory)).filter((entry) => entry.startsWith(`${name}_`));
        return file;
      }),
  };
}

/** Runs apt-get for something that comes from the network. */
async function fetching(args: readonly string[], options: { cwd?: string; signal: AbortSignal }): Promise<string> {
  try {
    return await run('apt-get', args, { ...options, env: { LC_ALL: 'C' } });
  } catch (error) {
    options.signal.throwIfAborted();
    throw new Problem(
      'The Debian archive did not deliver.',
      'See that `apt-get update` works on this machine, then start again; what is already built is kept.',
      { cause: error },
    );
  }
}

async function requireApt(signal: AbortSignal): Promise<void> {
  const remedy = 'Work on Debian 12 or later: the images are made of its packages, and checked with its archive keys.';
  await run('apt-get', ['--version'], { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new Problem('This machine has no apt-get.', remedy, { cause: error });
  });
  await access(keyring).catch((error: unknown) => {
    throw new Problem(
      `The archive keys ${keyring} are missing.`,
      `Install the package debian-archive-keyring. ${remedy}`,
      { cause: error },
    );
  });
}

function areaOptions(area: string): string[] {
  const options = {
    'Dir::Etc::SourceList': `${area}/archive.sources`,
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::Etc::Preferences': '/dev/null',
    'Dir::Etc::PreferencesParts': '/dev/null',
    'Dir::State': `${area}/state`,
    'Dir::State::Lists': `${area}/state/lists`,
    'Dir::State::status': `${area}/status`,
    'Dir::Cache': `${area}/cache`,
    'Dir::Cache::archives': `${area}/cache/archives`,
    'APT::Sandbox::User': 'root',
    'APT::Default-Release': '',
    'APT::Install-Recommends': 'false',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
  };
  return Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

export interface ArchiveUris {
  readonly debian: string;
  readonly security?: string;
}

/** The mirrors that this machine is set up for. Its package lists may have been thrown away; then they are read again, aside. */
async function hostArchives(area: string, signal: AbortSignal): Promise<ArchiveUris> {
  const aside = ['-o', `Dir::State::Lists=${area}/host-lists`, '-o', 'APT::Sandbox::User=root'];
  const query = ['indextargets', '--format', '$(LABEL) $(REPO_URI)'];
  const found = archiveUris(await run('apt-get', query, { signal }));
  if (found) return found;
  await mkdir(path.join(area, 'host-lists/partial'), { recursive: true });
  await fetching([...aside, 'update'], { signal });
  const foundAside = archiveUris(await run('apt-get', [...aside, ...query], { signal }));
  if (foundAside) return foundAside;
  throw new Problem(
    'None of the apt sources of this machine is the Debian archive.',
    'Work on Debian 12 or later, with its archive among the sources in /etc/apt.',
  );
}

/** Picks the archives out of lines of label and URI. */
export function archiveUris(lines: string): ArchiveUris | undefined {
  const uri = (label: string) => lines.match(new RegExp(`^${label} (\\S+)$`, 'm'))?.[1];
  const debian = uri('Debian');
  const security = uri('Debian-Security');
  return debian === undefined ? undefined : { debian, ...(security !== undefined && { security }) };
}

export function sourcesFile(uris: ArchiveUris, architecture: string): string {
  const stanza = (types: string, uri: string, suite: string, target: string) =>
    [
      `Types: ${types}`,
      `URIs: ${uri}`,
      `Suites: ${suite}`,
      'Components: main',
      `Architectures: ${architecture}`,
      `Targets: ${target}`,
      `Signed-By: ${keyring}`,
    ].join('\n');
  return `${[
    stanza('deb', uris.debian, 'bookworm', 'Packages'),
    ...(uris.security === undefined ? [] : [stanza('deb', uris.security, 'bookworm-security', 'Packages')]),
    stanza('deb-src', uris.debian, 'sid', 'Sources'),
  ].join('\n\n')}\n`;
}

function statusFile(architecture: string): string {
  return assumed
    .map((name) => `Package: ${name}\nStatus: install ok installed\nVersion: 999\nArchitecture: ${architecture}\n`)
    .join('\n');
}

/** The file names in what `--print-uris` prints: 'uri' name size hash. */
export function fileNames(uris: string): string[] {
  return [...uris.matchAll(/^'\S+' (\S+\.deb) /gm)].map((match) => match[1] as string);
}
