package tool

import (
	"path/filepath"
	"slices"
)

// DangerousCommands returns patterns of programs that need a person's word, for a Guard.
func DangerousCommands() []string { return slices.Clone(dangerousCommands) }

// DangerousPaths returns patterns of paths that need a person's word, for a Guard: what the system keeps, and what
// holds keys or accounts by its name. home is the directory of the person; "" leaves out what is there by its full
// path.
func DangerousPaths(home string) []string {
	paths := slices.Clone(dangerousPaths)
	for _, name := range dangerousHomes {
		paths = append(paths, "~/"+name+"/**")
		if home != "" {
			paths = append(paths, filepath.ToSlash(filepath.Join(home, name))+"/**")
		}
	}
	return paths
}

var (
	dangerousCommands = []string{"rm", "rmdir", "del", "format", "dd", "mkfs*", "fdisk", "parted", "chmod", "chown",
		"kill", "killall", "pkill", "sudo", "su", "shutdown", "reboot", "poweroff", "halt", "init", "shred",
		"truncate", "unlink"}
	dangerousPaths = []string{"/etc/**", "/sys/**", "/proc/**", "/dev/**", "/boot/**", "/var/log/**", "~root/**",
		"/root/.ssh/**", "*.key", "*.pem", "*.p12", "*.pfx", "*.keystore", "*.jks", "*.env", ".env", "*credentials*",
		"*secrets*", "*password*", "passwd", "shadow", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"}
	dangerousHomes = []string{".ssh", ".aws", ".gcp", ".gnupg", ".config"}
)
