/** What a process has used so far, as the kernel counts it. */
import { readFile } from 'node:fs/promises';

export interface Usage {
  readonly cpuMs: number;
  /** Memory that is its own or mapped by it, now. */
  readonly residentMB: number;
  /** Of that, pages of files: its program, which others that run it share. */
  readonly fileMB: number;
  /** The most of that it ever had. */
  readonly peakMB: number;
}

/** The kernel's USER_HZ, which is 100 on every Linux that Node runs on. */
export const MS_PER_TICK = 10;

export async function usageOf(pid: number): Promise<Usage> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  // The name of the program stands in parentheses and may contain anything: fields are counted from behind it.
  const [utime = '', stime = ''] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  const megabytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return {
    cpuMs: (Number(utime) + Number(stime)) * MS_PER_TICK,
    residentMB: megabytes('VmRSS'),
    fileMB: megabytes('RssFile'),
    peakMB: megabytes('VmHWM'),
  };
}
