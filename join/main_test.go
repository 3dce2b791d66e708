package join

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }
